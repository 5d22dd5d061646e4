// The data of the page's figures.
const figures = JSON.parse(document.getElementById('data').textContent).figures;
