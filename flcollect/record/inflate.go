package record

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Inflate turns objects into the message whose ID is root. It calls get for the content of an object,
// which must have the ID and must not be changed; the data of the message's arrays refers to it. Get
// may be called more than once for an ID. The MessageID of the message is root.
//
// An error names the object and the member that refers to it. It matches [ErrMissing] if get does not
// have an object, [ErrLimit] if the message exceeds the limits, and [ErrFormat] otherwise. Every type
// has children of certain types only, so an object is never below itself.
func Inflate(root string, get func(id string) (flower.Blob, bool), limits Limits) (Message, error) {
	in := inflation{get, limits.budget()}
	m, err := in.message(root)
	if err != nil {
		return Message{}, fmt.Errorf("inflate a message: %w", malformed(err))
	}
	m.Metadata.MessageID = root
	return m, nil
}

// inflation is the work of one Inflate.
type inflation struct {
	get    func(id string) (flower.Blob, bool)
	budget *budget
}

// open returns the head of an object that must have one of the types. What it takes from the budget is
// the content of the object.
func (in inflation) open(id string, kinds ...string) (Head, error) {
	if err := in.budget.count(1); err != nil {
		return Head{}, err
	}
	content, ok := in.get(id)
	if !ok {
		return Head{}, fmt.Errorf("%w: %s", ErrMissing, id)
	}
	if err := in.budget.take(content.Len()); err != nil {
		return Head{}, fmt.Errorf("object %s: %w", id, err)
	}
	head, body, err := splitHead(content)
	if err != nil {
		return Head{}, fmt.Errorf("object %s: %w", id, err)
	}
	head.Body = body
	for _, kind := range kinds {
		if head.Type == kind {
			return head, nil
		}
	}
	return Head{}, fmt.Errorf("object %s: it is of type %s, expected %s", id, head.Type, kinds[0])
}

func (in inflation) message(id string) (Message, error) {
	head, err := in.open(id, kindMessage)
	if err != nil {
		return Message{}, err
	}
	m, err := readMessage(head.Body, noContent, in.budget)
	if err != nil {
		return Message{}, fmt.Errorf("object %s: %w", id, err)
	}
	if m.Error != nil {
		return m, nil
	}
	if len(head.Children) != 1 {
		return Message{}, fmt.Errorf("object %s: a message has %d children, expected its content", id, len(head.Children))
	}
	m.Content, err = in.dict(head.Children[0])
	return m, err
}

func (in inflation) dict(id string) (Dict, error) {
	head, err := in.open(id, kindDict)
	if err != nil {
		return nil, err
	}
	refs, err := in.references(id, head)
	if err != nil {
		return nil, err
	}
	dict := make(Dict, len(refs))
	for i, ref := range refs {
		record, err := in.record(ref.Value)
		if err != nil {
			return nil, fmt.Errorf("record %q: %w", ref.Name, err)
		}
		dict[i] = Named[Record]{ref.Name, record}
	}
	return dict, nil
}

// references reads the names that the body of an object gives to its children.
func (in inflation) references(id string, head Head) ([]Named[string], error) {
	refs, err := parseReferences(head.Body, in.budget.entries)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", id, err)
	}
	children := make(map[string]bool, len(head.Children))
	for _, child := range head.Children {
		children[child] = true
	}
	for _, ref := range refs {
		if !children[ref.Value] {
			return nil, fmt.Errorf("object %s: member %q is object %s, which is not among the children", id, ref.Name, ref.Value)
		}
	}
	return refs, nil
}

func (in inflation) record(id string) (Record, error) {
	head, err := in.open(id, kindArrays, kindMetrics, kindConfig)
	if err != nil {
		return nil, err
	}
	var made Record
	switch head.Type {
	case kindArrays:
		return in.arrays(id, head)
	case kindMetrics:
		made, err = readMetrics(head.Body, in.budget)
	case kindConfig:
		made, err = readConfig(head.Body, in.budget)
	}
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", id, err)
	}
	return made, nil
}

func (in inflation) arrays(id string, head Head) (Arrays, error) {
	refs, err := in.references(id, head)
	if err != nil {
		return nil, err
	}
	arrays := make(Arrays, len(refs))
	for i, ref := range refs {
		array, err := in.array(ref.Value)
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", ref.Name, err)
		}
		arrays[i] = Named[Array]{ref.Name, array}
	}
	return arrays, nil
}

func (in inflation) array(id string) (Array, error) {
	head, err := in.open(id, kindArray)
	if err != nil {
		return Array{}, err
	}
	a, indices, err := parseArrayBody(head.Body)
	if err != nil {
		return Array{}, fmt.Errorf("object %s: %w", id, err)
	}
	for i, index := range indices {
		if index < 0 || index >= len(head.Children) {
			return Array{}, fmt.Errorf("object %s: chunk %d is child %d of %d", id, i, index, len(head.Children))
		}
		chunk, err := in.open(head.Children[index], kindChunk)
		if err != nil {
			return Array{}, fmt.Errorf("chunk %d of %d: %w", i+1, len(indices), err)
		}
		a.Data = append(a.Data, chunk.Body...)
	}
	return a, nil
}
