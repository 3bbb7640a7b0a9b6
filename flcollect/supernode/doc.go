// Package supernode is the server side of Flower's Fleet API: SuperNodes
// (flower-supernode --superlink HOST:PORT) connect to it as to a SuperLink, and run
// ClientApps for it.
//
// # Releases
//
// From Flower 1.40 on a SuperNode sends protobuf over HTTP, before that it calls gRPC; both
// come to one port, unencrypted or with TLS. Messages travel as objects from 1.20 on, and
// with their content in 1.13 to 1.18. Flower 1.19 has a form of its own, which is not
// spoken. What is not spoken is answered with a sentence, which the SuperNode prints.
//
// # Use
//
//	apps, err := supernode.OpenApps(ctx, "apps")           // a folder of .fab files
//	server, err := supernode.New(supernode.Config{
//		Apps: apps,
//		Handle: func(ctx context.Context, node *supernode.Node) error { ... }, // for each node, until it is gone
//	})
//	go server.Serve(ctx, listener)                    // or mount the server as an http.Handler
//
//	run, err := server.OpenRun(supernode.RunConfig{ID: 7, App: "acme/vision"})
//	defer run.Close()
//	member, err := run.Join(node)                     // a node's place in the run
//	run.SetRound(1)
//	res, err := member.Fit(ctx, flower.FitIns{...})   // as flower.Session.Fit
//	defer res.Release()
//
// A [Member] has the methods by which rounds instruct a client: Fit, Evaluate, Parameters,
// Reconnect and Done, with the values of package flower. [Member.Exchange] sends any other
// message, such as the stages of SecAgg+ or a query.
//
// Handle usually waits until a job wants the node, joins it to the run of the job, and
// returns when the node is gone. When a job is over, Run.Close or Member.Leave frees the
// node for others; Reconnect does the same as Leave. A run whose program was restarted is
// opened with the same ID: nodes join it again through Handle.
//
// # Nodes
//
// SuperNodes from 1.15 on sign their requests, with a key that the operator gave them or
// that they made. [NodeID] derives the number of the node from the key, so a node that goes
// on after a restart of this server, or after kill -9, is known again and needs no restart
// itself. The signature covers the time of the request, and neither its path nor its body:
// only TLS protects those. Config.Authorize decides which nodes may take part.
//
// A node whose heartbeats stop is gone: the context of Handle ends, and its members are
// done. A node that starts anew with the same key while it is active stays the same Node, and
// is sent the message again that it had.
//
// # Messages
//
// A message waits in the queue of its node until the SuperNode asks for one. It asks every
// 3 s when there is none, so a request waits for up to Config.Hold. A SuperNode works on one
// message at a time; one that asks for the next without an answer has lost the last one, and
// is sent it again, a few times before the call fails with [ErrLost].
//
// # Memory
//
// The objects of a model refer to the caller's memory and are hashed once for all nodes that
// have it at the same time. The objects of an answer are admitted before they are read, as a
// whole: Config.Uploads bounds them from then until the answer is released. Their arrays are
// not copied.
//
// Source: flwr.supernode, flwr.client and flwr.server.superlink.fleet of Flower 1.13 to 1.42.
package supernode
