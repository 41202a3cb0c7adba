export const star = new URL("../img/star.svg", import.meta.url);
