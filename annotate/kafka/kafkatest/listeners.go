package kafkatest

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// controller is the listener of the controller, which no client uses.
const controller = "CONTROLLER"

// logging is the broker's log: what went wrong, and that it started and ended.
const logging = `log4j.rootLogger=WARN, out
log4j.logger.kafka.server.KafkaServer=INFO
log4j.logger.kafka.server.KafkaRaftServer=INFO
log4j.logger.kafka.server.BrokerServer=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %m (%c)%n
`

// listener is a place where the broker accepts connections.
type listener struct {
	name     string // of the security protocol, or of a cable
	protocol string
	at       mqtttest.Address
	cable    *mqtttest.Proxy // what is advertised to clients; nil for at
}

// advertised returns the address that the broker advertises to clients.
func (l listener) advertised() mqtttest.Address {
	if l.cable != nil {
		return l.cable.Address
	}
	return l.at
}

// listen reserves a port for each listener. The first is PLAINTEXT.
func (k *Kafka) listen() []listener {
	protocols := []string{kafka.Plaintext, controller}
	if k.options.TLS {
		protocols = append(protocols, kafka.SSL)
	}
	if len(k.options.Users) > 0 {
		protocols = append(protocols, kafka.SASLPlaintext)
		if k.options.TLS {
			protocols = append(protocols, kafka.SASLSSL)
		}
	}
	var all []listener
	for _, name := range slices.Concat(protocols, k.options.Cables) {
		l := listener{name: name, protocol: name, at: mqtttest.Reserve(k.tb)}
		if !slices.Contains(protocols, name) {
			l.cable = mqtttest.NewProxy(k.tb, l.at)
		}
		if l.cable != nil || name == controller {
			l.protocol = kafka.Plaintext
		}
		all = append(all, l)
	}
	return all
}

// Address returns the address of the PLAINTEXT listener, whose clients need no log-in and
// have all rights.
func (k *Kafka) Address() mqtttest.Address { return k.listeners[0].at }

// At returns where the listener of a security protocol is: PLAINTEXT, and with
// the options for them SSL, SASL_PLAINTEXT and SASL_SSL. A listener that is not
// there fails the test.
func (k *Kafka) At(protocol string) mqtttest.Address { return k.listener(protocol).advertised() }

// Cable returns the proxy of that name in front of the broker: a client that
// connects there passes through it with all its connections, because the broker
// names it as its own address. A cable that is not among the options fails the
// test.
func (k *Kafka) Cable(name string) *mqtttest.Proxy { return k.listener(name).cable }

func (k *Kafka) listener(name string) listener {
	k.tb.Helper()
	for _, l := range k.listeners {
		if l.name == name {
			return l
		}
	}
	k.tb.Fatalf("Kafka has no listener %q: the options do not ask for it", name)
	return listener{}
}

// Roots returns the certificates with which clients of SSL and SASL_SSL verify the broker;
// nil without TLS.
func (k *Kafka) Roots() *x509.CertPool { return k.roots }

// properties returns the broker's configuration. One broker is all there is, so
// nothing is replicated; groups do not wait for members that may still come,
// and internal topics have few partitions, to start quickly.
func (k *Kafka) properties() []byte {
	var listeners, advertised, protocols []string
	for _, l := range k.listeners {
		listeners = append(listeners, l.name+"://"+l.at.String())
		protocols = append(protocols, l.name+":"+l.protocol)
		if l.name != controller {
			advertised = append(advertised, l.name+"://"+l.advertised().String())
		}
	}
	var b bytes.Buffer
	for _, line := range append([]string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.voters=1@" + k.listener(controller).at.String(),
		"listeners=" + strings.Join(listeners, ","),
		"advertised.listeners=" + strings.Join(advertised, ","),
		"listener.security.protocol.map=" + strings.Join(protocols, ","),
		"controller.listener.names=" + controller,
		"inter.broker.listener.name=" + kafka.Plaintext,
		"log.dirs=data",
		"auto.create.topics.enable=false",
		"offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=3",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"transaction.state.log.num.partitions=3",
		"group.initial.rebalance.delay.ms=0",
		// After a kill the controller, which is the same process, waits for the
		// session of the broker that was.
		"broker.session.timeout.ms=6000",
		"broker.heartbeat.interval.ms=500",
	}, k.options.Lines...) {
		fmt.Fprintln(&b, line)
	}
	if k.options.TLS {
		fmt.Fprintln(&b, "ssl.keystore.type=PEM\nssl.keystore.location=server.pem")
	}
	if k.options.Authorize {
		fmt.Fprintln(&b, "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\nsuper.users=User:ANONYMOUS")
	}
	for _, l := range k.listeners {
		if strings.HasPrefix(l.protocol, "SASL") {
			k.sasl(&b, "listener.name."+strings.ToLower(l.name)+".")
		}
	}
	return b.Bytes()
}

// sasl configures the log-in of one listener.
func (k *Kafka) sasl(b *bytes.Buffer, prefix string) {
	const modules = "org.apache.kafka.common.security."
	fmt.Fprintf(b, "%ssasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512\n", prefix)
	fmt.Fprintf(b, "%splain.sasl.jaas.config=%splain.PlainLoginModule required", prefix, modules)
	for user, password := range k.options.Users {
		fmt.Fprintf(b, " user_%s=%q", user, password)
	}
	fmt.Fprintln(b, ";")
	for _, mechanism := range []string{"scram-sha-256", "scram-sha-512"} {
		fmt.Fprintf(b, "%s%s.sasl.jaas.config=%sscram.ScramLoginModule required;\n", prefix, mechanism, modules)
	}
}
