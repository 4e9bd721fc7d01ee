// Frames of all cameras, drawn from sheets of many small pictures; a film strip; playing.

const FPS = 20, SLOW = 4, KEPT_SHEETS = 120;
const sheets = new Map();

function sheet(address) {
  let found = sheets.get(address);
  if (!found) {
    found = { picture: null, promise: null };
    found.promise = fetch(address, { credentials: "same-origin" })
      .then((response) => { if (!response.ok) throw new Error(address); return response.blob(); })
      .then((blob) => createImageBitmap(blob))
      .then((picture) => { found.picture = picture; return picture; })
      .catch(() => { sheets.delete(address); return null; });
    sheets.set(address, found);
    if (sheets.size > KEPT_SHEETS) sheets.delete(sheets.keys().next().value);
  } else {
    sheets.delete(address);
    sheets.set(address, found);
  }
  return found;
}

export class Player {
  constructor({ cameras, strip, onFrame }) {
    Object.assign(this, { cameras, strip, onFrame });
    this.frame = 0; this.playing = false; this.slow = false; this.span = null; this.updates = 0;
    this.size = [128, 128];
  }

  show(task, episode) {
    this.stop();
    this.task = task; this.episode = episode; this.frame = 0; this.span = null;
    this.cameras.replaceChildren();
    this.canvases = episode.cameras.map((name) => {
      const figure = document.createElement("figure");
      const canvas = document.createElement("canvas");
      // Until its first picture comes it has the size of the one before, so that nothing jumps.
      [canvas.width, canvas.height] = this.size;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `camera ${name}`);
      const caption = document.createElement("figcaption");
      caption.textContent = name;
      figure.append(canvas, caption);
      this.cameras.append(figure);
      return canvas;
    });
    if (!episode.cameras.length) this.cameras.textContent = "These demonstrations have no images.";
    this.seek(0);
    this.drawStrip();
    this.fetchAhead();
  }

  address(camera, number) { return `/media/${this.task}/${this.episode.episode}/${camera}/${number}`; }

  get lastFrame() { return this.episode.num_frames - 1; }

  seek(frame) {
    if (!this.episode) return;
    this.frame = Math.max(0, Math.min(this.lastFrame, Math.round(frame)));
    this.draw();
    this.onFrame(this.frame);
  }

  place(picture, frame) {
    const { columns, frames_per_sheet: count } = this.episode;
    const width = picture.width / columns, height = picture.height / (count / columns);
    const at = frame % count;
    return [(at % columns) * width, Math.floor(at / columns) * height, width, height];
  }

  draw() {
    const { frame, episode } = this;
    this.canvases.forEach((canvas, camera) => {
      const found = sheet(this.address(camera, Math.floor(frame / episode.frames_per_sheet)));
      const paint = (picture) => {
        if (!picture || this.frame !== frame || this.episode !== episode) return;
        const [x, y, width, height] = this.place(picture, frame);
        if (canvas.width !== width || canvas.height !== height) {
          this.size = [canvas.width, canvas.height] = [width, height];
        }
        canvas.getContext("2d").drawImage(picture, x, y, width, height, 0, 0, width, height);
        canvas.dataset.frame = frame;
        this.updates += 1;
      };
      if (found.picture) paint(found.picture); else found.promise.then(paint);
    });
  }

  async fetchAhead() {
    const episode = this.episode;
    const last = Math.ceil(episode.num_frames / episode.frames_per_sheet);
    for (let number = 0; number < last && this.episode === episode; number += 1) {
      await Promise.all(episode.cameras.map((_, camera) => sheet(this.address(camera, number)).promise));
    }
    if (this.episode === episode) document.body.dataset.loaded = `${this.task}/${episode.episode}`;
  }

  async drawStrip() {
    const { strip, episode } = this;
    const width = strip.clientWidth || 600;
    strip.width = width;
    if (!episode.cameras.length) return;
    let at = 0;
    while (at < width) {
      const frame = Math.min(this.lastFrame, Math.floor((at / width) * episode.num_frames));
      const picture = await sheet(this.address(0, Math.floor(frame / episode.frames_per_sheet))).promise;
      if (!picture || this.episode !== episode) return;
      const [x, y, wide, high] = this.place(picture, frame);
      const shown = (wide * strip.height) / high;
      strip.getContext("2d").drawImage(picture, x, y, wide, high, at, 0, shown, strip.height);
      at += shown;
    }
  }

  play(span = null) {
    if (!this.episode) return;
    this.span = span;
    const stop = span ? span[1] - 1 : this.lastFrame;
    if (span && (this.frame < span[0] || this.frame > stop)) this.frame = span[0];
    else if (this.frame >= stop) this.frame = span ? span[0] : 0;
    this.playing = true;
    this.before = performance.now(); this.exact = this.frame;
    requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    if (!this.playing) return;
    this.exact += ((now - this.before) / 1000) * FPS / (this.slow ? SLOW : 1);
    this.before = now;
    const stop = this.span ? this.span[1] - 1 : this.lastFrame;
    if (this.exact > stop + 0.999) {
      if (!this.span) { this.seek(stop); this.stop(); return; }
      this.exact = this.span[0];
    }
    if (Math.floor(this.exact) !== this.frame) this.seek(Math.floor(this.exact));
    requestAnimationFrame((then) => this.tick(then));
  }

  stop() { this.playing = false; this.span = null; if (this.onStop) this.onStop(); }
}
