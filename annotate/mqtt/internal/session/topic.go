package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxIdentifier is the length in bytes of the longest client identifier that
// every broker has to take (MQTT 3.1.1 section 3.1.3.1).
const maxIdentifier = 23

// Topic is a topic with its settings.
type Topic struct {
	Name string
	Settings
}

// Settings are those of package mqtt, which describes them.
type Settings struct {
	Protocol, Host                               string
	Port                                         int
	Version, ClientID, ShareName, User, Password string
}

// UsedPort returns the port, or the protocol's usual one where the settings name none.
func (s Settings) UsedPort() int {
	if s.Port != 0 {
		return s.Port
	}
	switch strings.ToLower(s.Protocol) {
	case "tls", "ssl", "mqtts":
		return 8883
	}
	return 1883
}

// The values of Settings.Version.
const (
	Version5   = "5"
	Version311 = "3.1.1"
)

// CheckInput returns why a topic cannot be subscribed to with the settings.
func CheckInput(topic Topic) error {
	if err := checkSettings(topic); err != nil {
		return err
	}
	name := topic.ShareName
	switch {
	case topic.Name == "":
		return errors.New("the topic has no name")
	case len(filter(topic)) > math.MaxUint16:
		return fmt.Errorf("the topic filter has %d bytes, at most %d are allowed", len(filter(topic)), math.MaxUint16)
	case strings.ContainsAny(name, "/+#\x00") || !utf8.ValidString(name):
		return fmt.Errorf("mqttSettings.shareName %q contains /, + or #, or is not valid UTF-8", name)
	case name != "" && strings.HasPrefix(topic.Name, "$share/"):
		return fmt.Errorf("mqttSettings.shareName %q is set for a topic that has a share name already", name)
	}
	return nil
}

// CheckOutput returns why a topic cannot be published on with the settings.
func CheckOutput(topic Topic) error {
	if err := checkSettings(topic); err != nil {
		return err
	}
	return checkTopicName(topic.Name)
}

func checkSettings(topic Topic) error {
	switch topic.Version {
	case "", Version5, Version311:
	default:
		return fmt.Errorf("mqttSettings.version: expected one of %q, %q, got %q", Version5, Version311, topic.Version)
	}
	_, _, err := address(topic.Settings)
	return err
}

// checkTopicName applies MQTT 5 sections 4.7.1 and 4.7.3 to a topic that is
// published on.
func checkTopicName(topic string) error {
	switch {
	case topic == "":
		return errors.New("the topic has no name")
	case len(topic) > math.MaxUint16:
		return fmt.Errorf("the topic name has %d bytes, at most %d are allowed", len(topic), math.MaxUint16)
	case strings.ContainsAny(topic, "+#"):
		return errors.New("a topic to publish on must not have wildcards")
	case strings.ContainsRune(topic, 0) || !utf8.ValidString(topic):
		return errors.New("the topic name is not valid UTF-8")
	}
	return nil
}

// filter is the topic filter of an input (MQTT 5 section 4.8.2).
func filter(topic Topic) string {
	if topic.ShareName == "" {
		return topic.Name
	}
	return "$share/" + topic.ShareName + "/" + topic.Name
}

// identifier is the client identifier of one instance: both names with a
// hyphen between, or, where that is longer than every broker has to take, the
// beginning of the client identifier and 60 bits of a hash of both.
func identifier(clientID, instance string) string {
	if instance == "" {
		return clientID
	}
	if plain := clientID + "-" + instance; len(plain) <= maxIdentifier {
		return plain
	}
	sum := sha256.Sum256([]byte(clientID + "\x00" + instance))
	digest := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:12]
	head := clientID[:min(len(clientID), maxIdentifier-len(digest)-1)]
	for !utf8.ValidString(head) { // a character was cut in two
		head = head[:len(head)-1]
	}
	return head + "-" + digest
}

// anonymous is a client identifier that no other client has.
func anonymous() string { return "annotate" + rand.Text()[:maxIdentifier-len("annotate")] }

// address is the broker's host and port, with the protocol's usual port when
// the settings name none. IPv6 hosts may stand in brackets.
func address(s Settings) (hostPort string, secure bool, err error) {
	switch strings.ToLower(s.Protocol) {
	case "tcp", "mqtt", "":
	case "tls", "ssl", "mqtts":
		secure = true
	case "ws", "wss":
		return "", false, fmt.Errorf("protocol %q: MQTT over WebSocket is not supported, use tcp or tls", s.Protocol)
	default:
		return "", false, fmt.Errorf("protocol: expected one of tcp, mqtt, tls, ssl, mqtts, got %q", s.Protocol)
	}
	if s.Host == "" {
		return "", false, errors.New("the MQTT settings name no host")
	}
	port := s.UsedPort()
	if port < 1 || port > 65_535 {
		return "", false, fmt.Errorf("port %d is not between 1 and 65535", s.Port)
	}
	host := strings.TrimSuffix(strings.TrimPrefix(s.Host, "["), "]")
	return net.JoinHostPort(host, strconv.Itoa(port)), secure, nil
}
