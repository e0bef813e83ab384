// Browsers refuse a worker to a page that is opened from a disk, so there the
// script of the search runs in a hidden frame that looks like a worker to it.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => {
        this.onmessage?.({ data: structuredClone(data) });
      };
      const script = inside.document.createElement("script");
      this.loaded = new Promise((resolve) => (script.onload = resolve));
      Object.assign(this, { frame, inside });
      script.src = url;
      inside.document.body.append(script);
    }

    async postMessage(data) {
      await this.loaded;
      this.inside.onmessage({ data: structuredClone(data) });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
