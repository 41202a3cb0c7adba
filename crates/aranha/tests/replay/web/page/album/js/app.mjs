import { draw } from "./draw.mjs";
import { star } from "shapes";

draw("module", new URL("../../img/module.svg", import.meta.url));
draw("other", star);
import("./lazy.mjs").then((module) => module.run());
