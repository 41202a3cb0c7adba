export { star } from "./star.mjs";
