package ckks

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// codec compresses and decompresses objects. It keeps its buffers, and serves one
// goroutine at a time. The zero value is ready.
type codec struct {
	joined  []byte // an object that arrived in pieces
	content []byte // the decompressed content of an object
	source  bytes.Reader
	zlib    io.ReadCloser
	zstd    *zstd.Decoder
	encoder *zstd.Encoder
	deflate *zlib.Writer
}

// join returns the bytes of a blob in one piece, which is valid until the next
// call.
func (c *codec) join(pieces blob) []byte {
	if len(pieces) == 1 {
		return pieces[0]
	}
	c.joined = c.joined[:0]
	for _, chunk := range pieces {
		c.joined = append(c.joined, chunk...)
	}
	return c.joined
}

// open returns header and content of an object that takes up all the given bytes.
// The content has at most limit bytes and is valid until the next call.
func (c *codec) open(object []byte, limit int) (header, []byte, error) {
	h, err := readHeader(object)
	if err != nil {
		return header{}, nil, err
	}
	if h.size != uint64(len(object)) {
		return header{}, nil, fmt.Errorf("its header says a size of %d bytes, it has %d", h.size, len(object))
	}
	content := object[headerSize:]
	switch h.mode {
	case zlibMode:
		content, err = c.inflate(content, limit)
	case zstdMode:
		content, err = c.expand(content, limit)
	}
	if err != nil {
		return header{}, nil, fmt.Errorf("decompress its %s: %w", h.mode, err)
	}
	if len(content) > limit {
		return header{}, nil, fmt.Errorf("it has %d bytes, %d are the most", len(content), limit)
	}
	return h, content, nil
}

func (c *codec) reserve(limit int) {
	if cap(c.content) < limit {
		c.content = make([]byte, limit)
	}
}

func (c *codec) inflate(data []byte, limit int) ([]byte, error) {
	c.source.Reset(data)
	var err error
	if c.zlib == nil {
		c.zlib, err = zlib.NewReader(&c.source)
	} else {
		err = c.zlib.(zlib.Resetter).Reset(&c.source, nil)
	}
	if err != nil {
		return nil, err
	}
	c.reserve(limit + 1) // one more byte shows that the content is too long
	n, err := io.ReadFull(c.zlib, c.content[:limit+1])
	switch {
	case err == nil:
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	case !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF):
		return nil, err
	}
	// ReadFull does not distinguish the end of a stream from a truncated one.
	if _, err := c.zlib.Read(c.content[n : n+1]); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is cut off: %w", err)
	}
	if c.source.Len() > 0 {
		return nil, fmt.Errorf("%d bytes follow its end", c.source.Len())
	}
	return c.content[:n], nil
}

func (c *codec) expand(data []byte, limit int) ([]byte, error) {
	if c.zstd == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		c.zstd = decoder
	}
	c.reserve(limit)
	return c.zstd.DecodeAll(data, c.content[:0:limit])
}

// seal returns an object of the content, in the memory of dst if that is enough.
// The mode is not plain.
func (c *codec) seal(dst []byte, v version, m mode, content []byte) ([]byte, error) {
	object := append(dst[:0], make([]byte, headerSize)...)
	switch m {
	case zlibMode:
		buffer := bytes.NewBuffer(object)
		if c.deflate == nil {
			c.deflate, _ = zlib.NewWriterLevel(buffer, zlib.BestSpeed) // the level exists
		} else {
			c.deflate.Reset(buffer)
		}
		if _, err := c.deflate.Write(content); err != nil {
			return nil, err
		}
		if err := c.deflate.Close(); err != nil {
			return nil, err
		}
		object = buffer.Bytes()
	case zstdMode:
		if c.encoder == nil {
			encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
				zstd.WithAllLitEntropyCompression(true)) // the bytes have no repetitions, only different frequencies
			if err != nil {
				return nil, err
			}
			c.encoder = encoder
		}
		object = c.encoder.EncodeAll(content, object)
	default:
		return nil, fmt.Errorf("%s does not compress", m)
	}
	putHeader(object, header{v, m, uint64(len(object))})
	return object, nil
}

// close releases all buffers.
func (c *codec) close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
	*c = codec{}
}
