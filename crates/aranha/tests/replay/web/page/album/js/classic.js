// A classic script: its URLs are relative to the page.
function show(id, url, text) {
  const image = new Image(120, 60);
  image.src = url;
  document.getElementById(id).append(image, text || "");
}
show("classic", "../img/classic.svg");

fetch("../data/words.json")
  .then((response) => response.json())
  .then((words) => document.getElementById("data").append(words.join(", ")));

const worker = new Worker("js/worker.js");
worker.onmessage = (message) => document.getElementById("worker").append(message.data);

new IntersectionObserver((entries, observer) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      entry.target.src = entry.target.dataset.src;
      observer.unobserve(entry.target);
    }
  }
}).observe(document.querySelector("[data-src]"));

// The icons of the manifest: a browser loads them when it installs the page.
fetch(document.querySelector("[rel=manifest]").href).then(async (response) => {
  for (const icon of (await response.json()).icons) {
    show("manifest", new URL(icon.src, response.url));
  }
});

const sound = document.querySelector("audio");
const showDuration = () => document.getElementById("sound").append(`${sound.duration} s`);
sound.readyState > 0 ? showDuration() : (sound.onloadedmetadata = showDuration);
