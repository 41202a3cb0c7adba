const part = "A worker with a part.";
