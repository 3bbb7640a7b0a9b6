package annotate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// FieldError says which member of a JSON document is wrong and what was
// expected there.
type FieldError struct {
	// Field is the path of the member, such as
	// "settings.inputTopicSettings.topic"; empty for the document itself.
	Field string
	// Reason says what is wrong and what was expected.
	Reason string
}

// Error returns the path and the reason.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

// UnmarshalJSON decodes a channel as clients send it and as the service shows
// and stores it.
func (c *ChannelConfig) UnmarshalJSON(data []byte) error {
	doc, err := decodeFields(data)
	if err != nil {
		return err
	}
	config := ChannelConfig{
		Settings: decodeSettings(doc.child("settings")),
		Metadata: decodeMetadata(doc.child("metadata")),
	}
	if status, ok := doc.optionalChild("status"); ok {
		config.Status = decodeStatus(status)
	}
	if *doc.err != nil {
		return *doc.err
	}
	*c = config
	return nil
}

// UnmarshalJSON decodes an annotation as clients send it.
func (m *Mapping) UnmarshalJSON(data []byte) error {
	doc, err := decodeFields(data)
	if err != nil {
		return err
	}
	mapping := decodeMapping(doc)
	if *doc.err != nil {
		return *doc.err
	}
	*m = mapping
	return nil
}

// UnmarshalJSON decodes the status object of a PATCH.
func (u *StatusUpdate) UnmarshalJSON(data []byte) error {
	doc, err := decodeFields(data)
	if err != nil {
		return err
	}
	_, _, hasError := doc.member("error")
	update := StatusUpdate{
		IsStopped:                 doc.boolean("isStopped"),
		InputMonitorTopicEnabled:  doc.boolean("inputMonitorTopicEnabled", "inputMonitoringTopicEnabled"),
		OutputMonitorTopicEnabled: doc.boolean("outputMonitorTopicEnabled", "outputMonitoringTopicEnabled"),
		ErrorTopicEnabled:         doc.boolean("errorTopicEnabled"),
		HasError:                  hasError,
	}
	if *doc.err != nil {
		return *doc.err
	}
	*u = update
	return nil
}

func decodeSettings(f fields) Settings {
	s := Settings{
		ChannelID:   f.text("channelId"),
		Parallelism: f.integer("parallelism", 1, 256),
		BufferSize:  f.integer("bufferSize", 1, 65536),
		ErrorFormat: ErrorFormat(f.choice("errorFormat", string(ErrorText), string(ErrorJSON))),
		ExactlyOnce: f.isTrue("exactlyOnce"),
		Distributed: f.isTrue("distributed"),
	}
	s.Input = decodeTopic(f.child("inputTopicSettings"))
	s.Output = decodeTopic(f.child("outputTopicSettings"))
	optional := func(names ...string) *TopicSettings {
		child, ok := f.optionalChild(names...)
		if !ok {
			return nil
		}
		topic := decodeTopic(child)
		return &topic
	}
	s.MonitorInput = optional("monitorInputTopicSettings", "monitoringInputTopicSettings")
	s.MonitorOutput = optional("monitorOutputTopicSettings", "monitoringOutputTopicSettings")
	s.Error = optional("errorTopicSettings")
	return s
}

func decodeTopic(f fields) TopicSettings {
	t := TopicSettings{
		Topic:      f.requiredText("topic"),
		BrokerType: BrokerType(f.oneOf("brokerType", string(MQTT), string(Kafka))),
	}
	if kafka, ok := f.optionalChild("kafkaSettings"); ok {
		t.Kafka = &KafkaSettings{
			Protocol:    kafka.choice("protocol", KafkaPlaintext, KafkaSSL, KafkaSASLPlaintext, KafkaSASLSSL),
			Host:        kafka.requiredText("host"),
			Port:        kafka.requiredInteger("port", 1, 65535),
			GroupID:     kafka.text("groupId"),
			OffsetReset: kafka.choice("offsetReset", KafkaLatest, KafkaEarliest),
			Mechanism:   kafka.choice("saslMechanism", KafkaPlain, KafkaScramSHA256, KafkaScramSHA512),
			User:        kafka.text("user"),
			Password:    kafka.text("password"),
		}
	}
	if mqtt, ok := f.optionalChild("mqttSettings"); ok {
		t.MQTT = &MQTTSettings{
			Protocol:  mqtt.oneOf("protocol", "tcp", "mqtt", "ssl", "tls", "mqtts", "ws", "wss"),
			Host:      mqtt.requiredText("host"),
			Port:      mqtt.requiredInteger("port", 1, 65535),
			Version:   mqtt.choice("version", MQTT5, MQTT311),
			ClientID:  mqtt.text("clientId"),
			ShareName: mqtt.text("shareName"),
			User:      mqtt.text("user"),
			Password:  mqtt.text("password"),
		}
	}
	return t
}

func decodeMetadata(f fields) Metadata {
	return Metadata{
		Name:        f.text("name"),
		Author:      f.text("author"),
		Description: f.text("description"),
		Tags:        f.texts("tags"),
		Mapping:     decodeMapping(f.child("mapping")),
	}
}

func decodeMapping(f fields) Mapping {
	return Mapping{
		Name:         f.text("name"),
		Author:       f.text("author"),
		Version:      f.text("version"),
		Description:  f.text("description"),
		Tags:         f.texts("tags"),
		InputFormat:  InputFormat(f.oneOf("inputFormat", string(JSON), string(CSV), string(XML))),
		OutputFormat: OutputFormat(f.oneOf("outputFormat", outputFormatNames()...)),
		RML:          f.requiredText("rml"),
	}
}

func decodeStatus(f fields) Status {
	stopped := f.boolean("isStopped")
	return Status{
		IsStopped:                 stopped != nil && *stopped,
		InputMonitorTopicEnabled:  f.boolean("inputMonitorTopicEnabled", "inputMonitoringTopicEnabled"),
		OutputMonitorTopicEnabled: f.boolean("outputMonitorTopicEnabled", "outputMonitoringTopicEnabled"),
		ErrorTopicEnabled:         f.boolean("errorTopicEnabled"),
		Error:                     f.text("error"),
	}
}

// fields is one JSON object being decoded. The first thing wrong anywhere in
// the document is kept; after it the accessors return zero values. A member
// that is null counts as absent.
type fields struct {
	path    string
	members map[string]any
	err     *error
}

func decodeFields(data []byte) (fields, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return fields{}, &FieldError{Reason: syntaxReason(err, data)}
	}
	end := decoder.InputOffset()
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fields{}, &FieldError{Reason: fmt.Sprintf("unexpected text after the JSON object, which ends at byte %d", end)}
	}
	members, ok := document.(map[string]any)
	if !ok {
		return fields{}, &FieldError{Reason: "expected a JSON object, got " + kindOf(document)}
	}
	return fields{members: members, err: new(error)}, nil
}

func syntaxReason(err error, data []byte) string {
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "expected a JSON object, got nothing"
	case errors.As(err, &syntax):
		before := data[:min(int(syntax.Offset), len(data))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
		return fmt.Sprintf("not JSON: %s at line %d, column %d", syntax.Error(), line, max(column, 1))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "not JSON: the text ends in the middle"
	}
	return "not JSON: " + err.Error()
}

// member returns the first of the names that is present.
func (f fields) member(names ...string) (value any, path string, ok bool) {
	for _, name := range names {
		if value := f.members[name]; value != nil {
			return value, f.join(name), true
		}
	}
	return nil, f.join(names[0]), false
}

func (f fields) join(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "." + name
}

func (f fields) fail(path, format string, args ...any) {
	if *f.err == nil {
		*f.err = &FieldError{Field: path, Reason: fmt.Sprintf(format, args...)}
	}
}

func (f fields) text(name string) string {
	value, path, ok := f.member(name)
	if !ok {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		f.fail(path, "expected a string, got %s", kindOf(value))
	}
	return text
}

func (f fields) requiredText(name string) string {
	_, path, ok := f.member(name)
	text := f.text(name)
	if !ok {
		f.fail(path, "required, expected a string")
	} else if strings.TrimSpace(text) == "" {
		f.fail(path, "required, must not be empty")
	}
	return text
}

func (f fields) oneOf(name string, allowed ...string) string {
	text := f.requiredText(name)
	for _, a := range allowed {
		if text == a {
			return text
		}
	}
	f.fail(f.join(name), "expected one of %s, got %q", strings.Join(allowed, ", "), text)
	return ""
}

// choice is oneOf for a member that may be absent.
func (f fields) choice(name string, allowed ...string) string {
	if _, _, ok := f.member(name); !ok {
		return ""
	}
	return f.oneOf(name, allowed...)
}

func (f fields) integer(name string, low, high int) int {
	value, path, ok := f.member(name)
	if !ok {
		return 0
	}
	number, ok := value.(json.Number)
	if !ok {
		f.fail(path, "expected an integer, got %s", kindOf(value))
		return 0
	}
	i, err := strconv.Atoi(number.String())
	if err != nil || i < low || i > high {
		f.fail(path, "expected an integer from %d to %d, got %s", low, high, number)
		return 0
	}
	return i
}

func (f fields) requiredInteger(name string, low, high int) int {
	if _, path, ok := f.member(name); !ok {
		f.fail(path, "required, expected an integer")
	}
	return f.integer(name, low, high)
}

func (f fields) boolean(names ...string) *bool {
	value, path, ok := f.member(names...)
	if !ok {
		return nil
	}
	b, ok := value.(bool)
	if !ok {
		f.fail(path, "expected true or false, got %s", kindOf(value))
	}
	return &b
}

// isTrue reports whether the member is there and true.
func (f fields) isTrue(name string) bool {
	b := f.boolean(name)
	return b != nil && *b
}

func (f fields) texts(name string) []string {
	value, path, ok := f.member(name)
	if !ok {
		return nil
	}
	array, ok := value.([]any)
	if !ok {
		f.fail(path, "expected an array of strings, got %s", kindOf(value))
		return nil
	}
	var texts []string
	for i, element := range array {
		text, ok := element.(string)
		if !ok {
			f.fail(fmt.Sprintf("%s[%d]", path, i), "expected a string, got %s", kindOf(element))
		}
		texts = append(texts, text)
	}
	return texts
}

func (f fields) optionalChild(names ...string) (fields, bool) {
	value, path, ok := f.member(names...)
	if !ok {
		return fields{path: path, err: f.err}, false
	}
	members, isObject := value.(map[string]any)
	if !isObject {
		f.fail(path, "expected an object, got %s", kindOf(value))
	}
	return fields{path: path, members: members, err: f.err}, true
}

func (f fields) child(name string) fields {
	child, ok := f.optionalChild(name)
	if !ok {
		f.fail(child.path, "required, expected an object")
	}
	return child
}

func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %.40q", value)
	case json.Number:
		return "the number " + value.String()
	case bool:
		return strconv.FormatBool(value)
	case []any:
		return "an array"
	}
	return "an object"
}
