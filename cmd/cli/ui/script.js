
// The runs under way are read again every three seconds, while somebody looks.
(() => {
  'use strict';
  const part = document.getElementById('underway');
  if (!part) return;
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch('/underway');
      if (answer.ok) part.innerHTML = await answer.text();
    } catch {
      part.textContent = 'csiglab ui has ended.';
    }
  }, 3000);
})();
