package record

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// ChunkSize is the number of bytes of an array that an object holds at most, as Flower cuts arrays.
const ChunkSize = 5 << 20

// Prepared is a record that was deflated. It takes the place of the record in a [Dict], and may be used
// in any number of messages, concurrently.
type Prepared struct {
	record Record
	part   part
}

// part is a deflated object with everything below it.
type part struct {
	tree    Tree
	objects []Object // children first, each once
}

// Prepare deflates a record for many messages. The objects refer to the data of its arrays, which is
// hashed here, once, and must not be changed. The error names the member.
func Prepare(r Record) (*Prepared, error) {
	if p, ok := r.(*Prepared); ok {
		return p, nil
	}
	deflated, err := deflateRecord(r)
	if err != nil {
		return nil, fmt.Errorf("deflate a record: %w", err)
	}
	return &Prepared{r, deflated}, nil
}

// ID returns the ID of the record's object.
func (p *Prepared) ID() string { return p.part.tree.ID }

// Record returns what was prepared.
func (p *Prepared) Record() Record { return p.record }

func (p *Prepared) kind() string { return p.record.kind() }

// Deflate turns a message into objects: it returns their tree, whose ID is the ID of the message, and
// each object once, children before their parents. The content of the objects refers to the data of
// the message's arrays, which must not be changed. Arrays that are [*Prepared] are not hashed again.
// The MessageID is left out. Errors name the member.
func Deflate(m Message) (Tree, []Object, error) {
	var children []part
	if m.Error == nil {
		content, err := deflateDict(m.Content)
		if err != nil {
			return Tree{}, nil, fmt.Errorf("deflate a message: %w", err)
		}
		children = append(children, content)
	}
	m.Content, m.Metadata.MessageID = nil, ""
	var w wire.Writer
	if err := writeMessage(&w, m, noContent); err != nil {
		return Tree{}, nil, fmt.Errorf("deflate a message: %w", err)
	}
	whole := join(kindMessage, children, w.Chunks())
	return whole.tree, whole.objects, nil
}

// join returns an object above others. Of equal children, one is kept.
func join(kind string, children []part, body flower.Blob) part {
	var made part
	var ids []string
	direct, seen := make(map[string]bool, len(children)), map[string]bool{}
	for _, child := range children {
		if direct[child.tree.ID] {
			continue
		}
		direct[child.tree.ID] = true
		ids, made.tree.Children = append(ids, child.tree.ID), append(made.tree.Children, child.tree)
		for _, object := range child.objects {
			if !seen[object.ID] {
				seen[object.ID], made.objects = true, append(made.objects, object)
			}
		}
	}
	own := newObject(kind, ids, body)
	made.tree.ID, made.objects = own.ID, append(made.objects, own)
	return made
}

func deflateDict(d Dict) (part, error) {
	if err := unique(d); err != nil {
		return part{}, err
	}
	children, refs := make([]part, len(d)), make([]Named[string], len(d))
	for i, member := range d {
		child, err := deflateRecord(member.Value)
		if err != nil {
			return part{}, fmt.Errorf("record %q: %w", member.Name, err)
		}
		children[i], refs[i] = child, Named[string]{member.Name, child.tree.ID}
	}
	return joinNamed(kindDict, children, refs)
}

// joinNamed returns an object whose body maps names to its children.
func joinNamed(kind string, children []part, refs []Named[string]) (part, error) {
	body, err := appendReferences(nil, refs)
	if err != nil {
		return part{}, err
	}
	return join(kind, children, flower.Blob{body}), nil
}

func deflateRecord(r Record) (part, error) {
	var w wire.Writer
	switch r := r.(type) {
	case *Prepared:
		return r.part, nil
	case Arrays:
		return deflateArrays(r)
	case Metrics:
		if err := writeMetrics(&w, r); err != nil {
			return part{}, err
		}
	case Config:
		if err := writeConfig(&w, r); err != nil {
			return part{}, err
		}
	default:
		return part{}, fmt.Errorf("a record of type %T", r)
	}
	return join(r.kind(), nil, w.Chunks()), nil
}

func deflateArrays(arrays Arrays) (part, error) {
	if err := unique(arrays); err != nil {
		return part{}, err
	}
	children, refs := make([]part, len(arrays)), make([]Named[string], len(arrays))
	for i, member := range arrays {
		child, err := deflateArray(member.Value)
		if err != nil {
			return part{}, fmt.Errorf("array %q: %w", member.Name, err)
		}
		children[i], refs[i] = child, Named[string]{member.Name, child.tree.ID}
	}
	return joinNamed(kindArrays, children, refs)
}

func deflateArray(a Array) (part, error) {
	rest := wire.NewReader(a.Data)
	var children []part
	var indices []int
	index := map[string]int{} // of the chunk among unique chunks
	for rest.Left() > 0 {
		view, err := rest.Take(uint64(min(ChunkSize, rest.Left())))
		if err != nil {
			return part{}, err
		}
		chunk := newObject(kindChunk, nil, view)
		at, known := index[chunk.ID]
		if !known {
			at = len(index)
			index[chunk.ID] = at
			children = append(children, part{Tree{ID: chunk.ID}, []Object{chunk}})
		}
		indices = append(indices, at)
	}
	body, err := appendArrayBody(nil, a, indices)
	if err != nil {
		return part{}, err
	}
	return join(kindArray, children, flower.Blob{body}), nil
}
