importScripts("worker-part.js");
postMessage(part);
