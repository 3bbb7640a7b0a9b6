package record

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// EncodeTask returns an instruction as Flower 1.13 and 1.14 carry it: a TaskIns with the records in the
// form of [Maps]. The server is an anonymous node there. Errors name the member.
func EncodeTask(m Message) (flower.Blob, error) {
	var w wire.Writer
	if err := writeTask(&w, m); err != nil {
		return nil, fmt.Errorf("encode a task: %w", err)
	}
	return w.Chunks(), nil
}

func writeTask(w *wire.Writer, m Message) error {
	if err := w.Text(1, m.Metadata.MessageID); err != nil {
		return err
	}
	if err := w.Text(2, m.Metadata.GroupID); err != nil {
		return err
	}
	w.Uint(3, m.Metadata.RunID)
	return w.Message(4, func(w *wire.Writer) error {
		writeNode(w, 1, m.Metadata.Source)
		writeNode(w, 2, m.Metadata.Destination)
		w.Double(3, m.Metadata.CreatedAt)
		w.Double(6, m.Metadata.TTL)
		if err := w.Text(7, m.Metadata.ReplyTo); err != nil {
			return err
		}
		if err := w.Text(8, m.Metadata.Type); err != nil {
			return err
		}
		if m.Error != nil {
			return w.Message(10, func(w *wire.Writer) error { return writeError(w, m.Error) })
		}
		return w.Message(9, func(w *wire.Writer) error { return writeDict(w, m.Content, Maps) })
	})
}

// writeNode adds a node. The server has no number.
func writeNode(w *wire.Writer, field protowire.Number, node uint64) {
	var inner wire.Writer
	if node == ServerNode {
		inner.Always(2, 1)
	} else {
		inner.Uint(1, node)
	}
	w.Bytes(field, inner.Chunks())
}

// DecodeTask reads a reply as Flower 1.13 and 1.14 carry it: a TaskRes, which has the form of a TaskIns.
// The data of its arrays refers to the task, which must not be changed. Errors are those of
// [DecodeMessage].
func DecodeTask(task flower.Blob, limits Limits) (Message, error) {
	m, err := readTask(task, limits.budget())
	if err != nil {
		return Message{}, fmt.Errorf("decode a task: %w", malformed(err))
	}
	return m, nil
}

func readTask(task flower.Blob, left *budget) (Message, error) {
	var m Message
	found := false
	err := wire.NewReader(task).Fields(func(field protowire.Number, v wire.Value) (err error) {
		switch field {
		case 1:
			m.Metadata.MessageID, err = shortText(v)
		case 2:
			m.Metadata.GroupID, err = shortText(v)
		case 3:
			m.Metadata.RunID, err = v.Uint()
		case 4:
			found = true
			err = v.Message(taskField(&m, left))
		}
		return err
	})
	if err == nil && !found {
		err = errors.New("it has no task")
	}
	if m.Error != nil {
		m.Content = nil
	}
	return m, err
}

func taskField(m *Message, left *budget) func(protowire.Number, wire.Value) error {
	return func(field protowire.Number, v wire.Value) (err error) {
		switch field {
		case 1:
			m.Metadata.Source, err = readNode(v)
		case 2:
			m.Metadata.Destination, err = readNode(v)
		case 3:
			m.Metadata.CreatedAt, err = v.Double()
		case 6:
			m.Metadata.TTL, err = v.Double()
		case 7:
			if m.Metadata.ReplyTo == "" { // the first of the ancestry
				m.Metadata.ReplyTo, err = shortText(v)
			}
		case 8:
			m.Metadata.Type, err = shortText(v)
		case 9:
			m.Content, err = readDict(v, m.Content, Maps, left)
		case 10:
			if m.Error == nil {
				m.Error = &Error{}
			}
			err = v.Message(errorField(m.Error))
		}
		return err
	}
}

func readNode(v wire.Value) (node uint64, err error) {
	err = v.Message(func(field protowire.Number, v wire.Value) error {
		n, err := v.Uint()
		switch {
		case field == 1 && n != 0:
			node = n
		case field == 2 && n != 0:
			node = ServerNode
		}
		return err
	})
	return node, err
}
