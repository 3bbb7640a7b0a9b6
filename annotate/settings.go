package annotate

// BrokerType names the kind of broker that a topic lives on.
type BrokerType string

// The broker types of the REST contract, spelled as clients send them.
const (
	MQTT  BrokerType = "MQTT"
	Kafka BrokerType = "KAFKA"
)

// TopicSettings says where a topic is. The JSON names are the REST contract's.
type TopicSettings struct {
	// Topic is the topic's name; required.
	Topic string `json:"topic"`
	// BrokerType says which of the two settings below is used; required.
	BrokerType BrokerType `json:"brokerType"`
	// Kafka is the Kafka connection; nil means the configured default.
	Kafka *KafkaSettings `json:"kafkaSettings,omitempty"`
	// MQTT is the MQTT connection; nil means the configured default.
	MQTT *MQTTSettings `json:"mqttSettings,omitempty"`
}

// KafkaSettings is a connection to a Kafka cluster.
type KafkaSettings struct {
	Host    string `json:"host"`
	Port    int    `json:"port"`
	GroupID string `json:"groupId,omitempty"`
}

// MQTTSettings is a connection to an MQTT broker.
type MQTTSettings struct {
	// Protocol is "tcp", "mqtt", "ssl", "tls", "mqtts", "ws" or "wss".
	Protocol string `json:"protocol"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	// ClientID is the MQTT client identifier, and so the name of the
	// persistent session.
	ClientID string `json:"clientId,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}
