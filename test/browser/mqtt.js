// Publishes messages as an MQTT client does.

import { connect } from "node:net";

// publish sends a message to a broker on this machine: CONNECT and, once that is acknowledged, PUBLISH
// and DISCONNECT of MQTT 3.1.1 (OASIS standard, sections 3.1, 3.3 and 3.14).
export function publish(port, topic, payload) {
  const text = (words) => Buffer.concat([Buffer.from([words.length >> 8, words.length & 255]), Buffer.from(words)]);
  const packet = (type, body) => Buffer.concat([Buffer.from([type, (body.length & 127) | 128, body.length >> 7]), body]);
  return new Promise((finished, failed) => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", failed);
    socket.on("close", finished);
    socket.once("data", () => socket.end(Buffer.concat([packet(0x30, Buffer.concat([text(topic), Buffer.from(payload)])), Buffer.from([0xe0, 0])])));
    socket.write(packet(0x10, Buffer.concat([text("MQTT"), Buffer.from([4, 2, 0, 60]), text("journey")])));
  });
}
