package record

import "fmt"

// Types of messages.
const (
	// Train asks a ClientApp to train.
	Train = "train"
	// Evaluate asks a ClientApp to evaluate.
	Evaluate = "evaluate"
	// Query asks a ClientApp for anything else.
	Query = "query"
	// GetParameters asks a NumPyClient for its model.
	GetParameters = "get_parameters"
	// GetProperties asks a NumPyClient for its properties.
	GetProperties = "get_properties"
	// Reconnect asks a NumPyClient to leave.
	Reconnect = "reconnect"
)

// ServerNode is the number of the server among the nodes: it is the source of instructions and the
// destination of replies.
const ServerNode = 1

// Metadata says where a message belongs.
type Metadata struct {
	// RunID is the run.
	RunID uint64
	// MessageID is the ID of the message's object. It is empty before the message is deflated, and not
	// part of the object.
	MessageID string
	// Source and Destination are the nodes.
	Source, Destination uint64
	// ReplyTo is the MessageID of the instruction that a reply answers.
	ReplyTo string
	// GroupID is the round, in decimal digits.
	GroupID string
	// TTL is how long the message holds after CreatedAt, in seconds.
	TTL float64
	// Type is "train", "evaluate" or "query", which an action may follow ("query.shapes"), or what a
	// NumPyClient has besides.
	Type string
	// CreatedAt is when the message was made, in seconds since 1970.
	CreatedAt float64
	// SourceTask and DestinationTask are tasks within the nodes (Flower 1.30 and later). Nil means none.
	SourceTask, DestinationTask *uint64
}

// Code is why a reply has no content.
type Code int64

// The codes of Flower.
const (
	CodeUnknown            Code = 0
	CodeAppNotLoaded       Code = 1
	CodeAppRaised          Code = 2
	CodeMessageUnavailable Code = 3
	CodeReplyUnavailable   Code = 4
	CodeNodeUnavailable    Code = 5
	CodeModPreconditions   Code = 6
	CodeInvalidFAB         Code = 7
	CodeAppCrashed         Code = 8
)

// String returns the code in words.
func (c Code) String() string {
	switch c {
	case CodeUnknown:
		return "an unknown failure"
	case CodeAppNotLoaded:
		return "the ClientApp could not be loaded"
	case CodeAppRaised:
		return "the ClientApp raised an exception"
	case CodeMessageUnavailable:
		return "the message is not available"
	case CodeReplyUnavailable:
		return "the reply is not available"
	case CodeNodeUnavailable:
		return "the node is not available"
	case CodeModPreconditions:
		return "a precondition of a mod failed"
	case CodeInvalidFAB:
		return "the app's bundle is not valid"
	case CodeAppCrashed:
		return "the ClientApp crashed"
	}
	return fmt.Sprintf("a failure with code %d", int64(c))
}

// Error is why a reply has no content.
type Error struct {
	// Code is the kind of failure.
	Code Code
	// Reason is free text, such as the trace of an exception.
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Code.String()
	}
	return e.Code.String() + ": " + e.Reason
}

// Message is an instruction to a node, or its reply.
type Message struct {
	// Metadata says where the message belongs.
	Metadata Metadata
	// Content holds the records. It is ignored if Error is set.
	Content Dict
	// Error is why a reply has no content. Nil means that it has.
	Error *Error
}

// Reply returns a message that answers m, made at the given time in seconds since 1970. It holds until
// m does.
func (m Message) Reply(at float64, content Dict) Message {
	of := m.Metadata
	return Message{Content: content, Metadata: Metadata{
		RunID: of.RunID, Source: of.Destination, Destination: of.Source, ReplyTo: of.MessageID, GroupID: of.GroupID,
		TTL: of.CreatedAt + of.TTL - at, Type: of.Type, CreatedAt: at, SourceTask: of.DestinationTask, DestinationTask: of.SourceTask,
	}}
}
