package flower

import (
	"fmt"

	"google.golang.org/grpc/mem"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// codec passes messages of a client through grpc without copying them: a *wire.Writer on the way
// out, an *inbound on the way in.
type codec struct{}

// inbound is a message as it was received.
type inbound struct {
	buffers mem.BufferSlice
	digest  string // of its parameters; empty if they were not digested
	release func() // returns the bytes that were admitted for it; nil for none
}

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	w, ok := v.(*wire.Writer)
	if !ok {
		return nil, fmt.Errorf("flower: cannot send a %T", v)
	}
	return takeBuffers(w), nil
}

// takeBuffers returns a message, which is not copied.
func takeBuffers(w *wire.Writer) mem.BufferSlice {
	chunks := w.Chunks()
	out := make(mem.BufferSlice, len(chunks))
	for i, chunk := range chunks {
		out[i] = mem.SliceBuffer(chunk)
	}
	return out
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*inbound)
	if !ok {
		return fmt.Errorf("flower: cannot receive a %T", v)
	}
	data.Ref()
	in.buffers = append(mem.BufferSlice(nil), data...)
	return nil
}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }

// blob returns the bytes of the message, which are valid until free.
func (in *inbound) blob() Blob {
	blob := make(Blob, len(in.buffers))
	for i, b := range in.buffers {
		blob[i] = b.ReadOnlyData()
	}
	return blob
}

// free ends the use of the message.
func (in *inbound) free() {
	in.buffers.Free()
	if in.release != nil {
		in.release()
	}
}
