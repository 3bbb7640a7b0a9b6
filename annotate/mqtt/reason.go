package mqtt

import "fmt"

// sessionTakenOver is the reason code of a broker that gave the session to
// another connection of the same client identifier.
const sessionTakenOver = 0x8e

// unsupportedVersion is the reason code of a broker that does not speak MQTT 5.
const unsupportedVersion = 0x84

// notAuthorized and quotaExceeded are reason codes that are about no message.
const (
	notAuthorized = 0x87
	quotaExceeded = 0x97
)

// advice selects which setting to look at when a connection was refused with
// the reason code; it may be empty.
func advice(code byte) string {
	switch code {
	case 0x85:
		return "; see mqttSettings.clientId"
	case 0x86, notAuthorized, 0x8c:
		return "; see mqttSettings.user and password"
	}
	return ""
}

// blaming reports whether a broker that disconnects with the reason code may
// do so because of a message that we sent. It does not when it is about the
// broker, the session or the connection.
func blaming(code byte) bool {
	switch code {
	case 0x88, 0x89, 0x8b, 0x8d, sessionTakenOver, 0x98, 0x9c, 0x9d, 0x9f, 0xa0:
		return false
	}
	return code >= 0x80
}

// reason puts a reason code (MQTT 5 section 2.4) and the broker's own words,
// which may be empty, into words.
func reason(code byte, words string) string {
	text := reasonName(code)
	if words != "" && words != text {
		text += ": " + words
	}
	return fmt.Sprintf("%s (0x%02X)", text, code)
}

func reasonName(code byte) string {
	switch code {
	case 0x00:
		return "success"
	case 0x04:
		return "disconnect with will message"
	case 0x80:
		return "unspecified error"
	case 0x81:
		return "malformed packet"
	case 0x82:
		return "protocol error"
	case 0x83:
		return "implementation specific error"
	case unsupportedVersion:
		return "unsupported protocol version"
	case 0x85:
		return "client identifier not valid"
	case 0x86:
		return "bad user name or password"
	case notAuthorized:
		return "not authorized"
	case 0x88:
		return "server unavailable"
	case 0x89:
		return "server busy"
	case 0x8a:
		return "banned"
	case 0x8b:
		return "server shutting down"
	case 0x8c:
		return "bad authentication method"
	case 0x8d:
		return "keep alive timeout"
	case sessionTakenOver:
		return "session taken over"
	case 0x8f:
		return "topic filter invalid"
	case 0x90:
		return "topic name invalid"
	case 0x91:
		return "packet identifier in use"
	case 0x93:
		return "receive maximum exceeded"
	case 0x95:
		return "packet too large"
	case 0x96:
		return "message rate too high"
	case quotaExceeded:
		return "quota exceeded"
	case 0x98:
		return "administrative action"
	case 0x99:
		return "payload format invalid"
	case 0x9a:
		return "retain not supported"
	case 0x9b:
		return "QoS not supported"
	case 0x9c:
		return "use another server"
	case 0x9d:
		return "server moved"
	case 0x9e:
		return "shared subscriptions not supported"
	case 0x9f:
		return "connection rate exceeded"
	case 0xa0:
		return "maximum connect time"
	case 0xa1:
		return "subscription identifiers not supported"
	case 0xa2:
		return "wildcard subscriptions not supported"
	}
	return "unknown reason"
}
