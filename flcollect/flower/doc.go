// Package flower speaks the protocol of Flower clients: the bidirectional
// stream /flwr.proto.FlowerService/Join, which every Flower release from 1.0 on
// has (start_client, start_numpy_client over grpc-bidi), the scalar type that
// came with 1.12 included.
//
// # Server
//
// A Server accepts clients and hands each to Config.Handle as a Session. The
// server speaks first: Session.Fit and its sisters send one instruction and wait
// for its one answer; Session.Reconnect ends the session, or parks the client
// for some seconds. An instruction whose context ends takes the session with it,
// and the client sees DEADLINE_EXCEEDED, as with Flower's own server.
//
// The server is an http.Handler on which grpc-go serves HTTP/2, so it can share
// a port with other handlers; Serve runs it on a listener of its own, with TLS,
// mutual TLS, or in the clear.
//
// # Memory
//
// The body of an answer is read only once its size was admitted, so that
// HTTP/2 flow control holds back the clients that are too many: beside what was
// admitted, a stream holds at most Config.Window bytes. Tensors are not copied:
// those of an answer refer to the buffers that were received, until the answer
// is released; those of an instruction are sent from where they lie, to however
// many clients.
//
// # Client
//
// A Client is the other side, for tests, load, and programs in Go that train.
package flower
