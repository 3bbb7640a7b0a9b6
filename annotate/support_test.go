package annotate_test

import "github.com/iotenablers/enablers/annotate"

// otherType is a second kind of broker.
const otherType annotate.BrokerType = "OTHER"

// memory is the kind of broker of a stand-in for a MemoryBroker.
func memory(b annotate.Broker) annotate.Driver {
	d := annotate.MemoryDriver(nil)
	d.Broker = b
	return d
}

// other is a kind of broker beside that of memory.
func other(b annotate.Broker) annotate.Driver {
	d := memory(b)
	d.Type, d.Member = otherType, "otherSettings"
	return d
}
