// Package annotate turns JSON, CSV and XML messages into RDF, from broker to broker. Devices publish in
// formats of their own and applications query RDF: a channel maps the messages of the devices, and loses
// none of them when a broker or the process fails.
//
//	const mapping = `
//	mappings:
//	  reading:
//	    sources: [['~jsonpath', $]]
//	    s: http://example.com/sensor/$(id)
//	    po: [[http://example.com/celsius, $(celsius)]]`
//	ctx, broker := context.Background(), annotate.NewMemoryBroker(nil) // or one of packages mqtt and kafka
//	channel, err := annotate.NewChannel(annotate.ChannelConfig{
//		Input:   annotate.Topic{Name: "readings/json", Broker: annotate.Memory},
//		Output:  annotate.Topic{Name: "readings/rdf", Broker: annotate.Memory},
//		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, Language: "YARRRML", RML: mapping},
//	}, annotate.Environment{Drivers: []annotate.Driver{annotate.MemoryDriver(broker)}})
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer channel.Close()
//	reading := annotate.Message{Topic: "readings/json", Payload: []byte(`{"id": "a7", "celsius": 21.5}`)}
//	if err := errors.Join(channel.Start(ctx), broker.Publish(ctx, reading)); err != nil {
//		log.Fatal(err)
//	}
//	if annotated, err := broker.Await(ctx, "readings/rdf", 1); err == nil {
//		fmt.Printf("%s", annotated[0].Payload)
//	}
//
// A [Channel] maps each message of one topic with an RML, CARML or YARRRML mapping and publishes the
// result on another topic, or into a store, in order of arrival and at least once. A message is
// acknowledged when its output is confirmed or its failure is recorded, and never before. Messages in
// flight are bounded in number and in bytes: a slow output slows the input down, and only monitoring
// notes are dropped.
//
// A kind of broker is a [Driver]. Packages mqtt, kafka, sparql and ngsild have one each, so that a program
// links only those it uses; package brokertest is the suite for others. An error that matches
// [ErrBrokerClosed] or [ErrBrokerUnavailable] has the message delivered again; any other error of a
// publication fails the message. Secrets in settings are masked wherever settings are shown or logged.
//
// Package manager, below this one, keeps many channels over a storage.
package annotate
