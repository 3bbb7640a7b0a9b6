// A proxy between a browser and a server, whose connections a test breaks.

import { connect, createServer } from "node:net";

// Proxy forwards the bytes of connections.
export class Proxy {
  address; // that a browser opens
  #target;
  #server;
  #connections = new Set();
  #down = false;
  #cuts = []; // { at, ms }: when to break the connections, by the bytes that went to the server
  sent = 0; // bytes to the server

  // start forwards to the server at an address such as http://127.0.0.1:8081.
  async start(address) {
    this.#target = new URL(address);
    this.#server = createServer((client) => this.#serve(client));
    await new Promise((listening) => { this.#server.listen(0, "127.0.0.1", listening); });
    this.address = `http://127.0.0.1:${this.#server.address().port}`;
  }

  #serve(client) {
    if (this.#down) {
      client.destroy();
      return;
    }
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const one of [client, server]) {
      this.#connections.add(one);
      one.on("error", () => {}); // both ends are closed below
      one.on("close", () => {
        this.#connections.delete(one);
        (one === client ? server : client).destroy();
      });
    }
    client.on("data", (data) => {
      this.sent += data.length;
      if (this.#cuts.length > 0 && this.sent >= this.#cuts[0].at) this.cut(this.#cuts.shift().ms);
    });
    client.pipe(server).pipe(client);
  }

  // cutAfter is cut when so many more bytes went to the server.
  cutAfter(bytes, ms) {
    this.#cuts.push({ at: this.sent + bytes, ms });
  }

  // cut breaks all connections, and refuses new ones for a while; without a time until mend.
  cut(ms) {
    this.#down = true;
    for (const one of this.#connections) one.destroy();
    if (ms !== undefined) setTimeout(() => this.mend(), ms);
  }

  mend() {
    this.#down = false;
  }

  async close() {
    this.cut();
    await new Promise((closed) => { this.#server.close(closed); });
  }
}
