// Package flcollect is the server side of federated learning: it trains one model on data that must not
// leave the machines that have them. Flower clients train where the data are; a server sends them the
// model, round by round, aggregates their updates, and stores the result in a repository.
//
//	ctx, stop := context.WithCancel(context.Background())
//	defer stop()
//	server, err := flcollect.NewServer(flcollect.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
//	if err != nil {
//		log.Fatal(err)
//	}
//	clients, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle})
//	if err != nil {
//		log.Fatal(err)
//	}
//	listener, err := net.Listen("tcp", "127.0.0.1:0") // Flower clients connect to listener.Addr()
//	if err != nil {
//		log.Fatal(err)
//	}
//	go server.Run(ctx)
//	go clients.Serve(ctx, listener)
//
//	err = server.Start(ctx, "tumours", jobconfig.Config{Strategy: "FedAvg", Rounds: 3})
//	status, errStatus := server.Status(ctx, "tumours")
//	fmt.Println(status.State, "for clients:", status.Needed, errors.Join(err, errStatus))
//
// A [Server] runs any number of jobs over package storage: after a restart each goes on from its last
// finished round. Servers with the same storage and a Name of their own are one service, and a server
// with an Upstream is a client of another one. Parts can be used alone: packages flower and supernode
// speak the clients' protocols, strategy aggregates, tensor holds the numbers, and dp, ckks and
// secagg are the privacy mechanisms.
//
//   - The model with which a job begins decides the types of its layers: updates of other types are
//     converted, and a number that the type cannot hold refuses the update.
//   - No client is trusted. Far updates are reported, and cut if [Config] says so; [report.Reputation] suspends
//     clients whose updates are refused again and again. [report.Updates] counts, [Server.Report] and
//     [Server.Audit] list what became of each update, for operators alone.
//   - A job in which no round has aggregated an update ends as [report.Interrupted], without a result.
package flcollect
