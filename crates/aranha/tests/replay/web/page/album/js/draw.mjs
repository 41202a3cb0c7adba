export function draw(id, url) {
  const image = new Image(120, 60);
  image.src = url;
  document.getElementById(id).append(image);
}
