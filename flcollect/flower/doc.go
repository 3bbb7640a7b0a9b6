// Package flower implements the protocol of Flower clients: the bidirectional
// stream /flwr.proto.FlowerService/Join of every Flower release from 1.0 on
// (start_client, start_numpy_client over grpc-bidi), including the scalar type
// of 1.12.
//
// # Server
//
// A Server accepts clients and passes each to ServerConfig.Handle as a Session.
// The server sends first: Session.Fit, Session.Evaluate, Session.Parameters and
// Session.Properties send one instruction and wait for its answer.
// Session.Reconnect ends the session; the client may reconnect after some
// seconds. When the context of an instruction ends, the session ends too, and
// the client sees DEADLINE_EXCEEDED, as with Flower's own server.
//
// The server is an http.Handler that speaks gRPC over HTTP/2, so it can share a
// port with other handlers; Serve runs it on a listener of its own, with TLS,
// with mutual TLS, or unencrypted.
//
// # Memory
//
// The body of an answer is read only after its size was admitted. Until then
// HTTP/2 flow control stops the client, and a stream takes at most
// ServerConfig.Window bytes of memory. Tensors are not copied. Those of an
// answer refer to the received buffers until the answer is released. Those of
// an instruction are sent from the caller's memory, to any number of clients.
//
// # Client
//
// A Client is a Flower client in Go, for tests, for load, and for programs that
// train in Go.
package flower
