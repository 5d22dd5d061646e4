// The page is complete without what follows.

document.documentElement.classList.add('scripted');
document.body.append(tip, zoomBar);
document.querySelectorAll('svg[data-figure]').forEach(newView);
document.querySelectorAll('ul.legend').forEach(newLegend);
document.querySelectorAll('main table').forEach(newTable);
newMap();
newChips();
newHint();
newOpener();
newContents();
addEventListener('hashchange', follow);
follow();
