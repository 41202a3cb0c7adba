import { draw } from "./draw.mjs";

export const run = () => draw("lazy", "/img/lazy-module.svg");
