package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// stream is a connection that only reads.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }

func frame(length int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(length)), bytes.Repeat([]byte{'x'}, length)...)
}

func readFrames(data []byte) ([]byte, error) {
	return io.ReadAll(newFrames(stream{Reader: bytes.NewReader(data)}, "peer:1"))
}

func TestFrames_Read_givesResponsesAsTheyAre(t *testing.T) {
	data := bytes.Join([][]byte{frame(4), frame(5), frame(100_000), frame(4), frame(2 << 20)}, nil)
	for name, reader := range map[string]io.Reader{
		"whole":        bytes.NewReader(data),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
		"in halves":    iotest.HalfReader(bytes.NewReader(data)),
		"with the end": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		got, err := io.ReadAll(newFrames(stream{Reader: reader}, "peer:1"))
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(data, got), name)
	}
}

func TestFrames_Read_refusesLengthsOutOfBounds(t *testing.T) {
	const prefix = "peer:1 does not speak Kafka: it answered with "
	length := func(n uint32) []byte { return append(binary.BigEndian.AppendUint32(nil, n), 0, 0, 0, 0) }
	for name, c := range map[string]struct {
		before, data []byte
		want         string
	}{
		"zero":                 {nil, length(0), "a response of 0 bytes, where Kafka's have 4 to 1048576"},
		"three":                {nil, length(3), "a response of 3 bytes, where Kafka's have 4 to 1048576"},
		"the first too long":   {nil, length(1<<20 + 1), "a response of 1048577 bytes, where Kafka's have 4 to 1048576"},
		"a later one too long": {frame(8), length(100<<20 + 1), "a response of 104857601 bytes, where Kafka's have 4 to 104857600"},
		"a negative one":       {frame(8), length(1 << 31), "a response of 2147483648 bytes, where Kafka's have 4 to 104857600"},
		"a web server": {nil, []byte("HTTP/1.1 400 Bad Request\r\nDate: x\r\n\r\n"),
			`"HTTP/1.1 400 Bad Request"; it is the port of a web server`},
		"another line":           {nil, []byte("220 mail.example.com ESMTP\r\n"), `"220 mail.example.com ESMTP"`},
		"no more than its start": {nil, []byte("SSH-"), `"SSH-"`},
		"TLS":                    {nil, []byte{0x15, 3, 1, 0, 2, 2, 70}, "a TLS alert; set the protocol to SSL or SASL_SSL"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFrames(stream{Reader: bytes.NewReader(append(bytes.Clone(c.before), c.data...))}, "peer:1")
			got, err := io.ReadAll(f)
			require.EqualError(t, err, prefix+c.want)
			require.Equal(t, len(c.before), len(got))
			var network net.Error
			require.ErrorAs(t, err, &network)
			require.False(t, network.Timeout())
			_, again := f.Read(make([]byte, 8))
			require.Equal(t, err, again)
		})
	}
}

func TestFrames_Read_namesAnEndInTheMiddle(t *testing.T) {
	for _, n := range []int{1, 3, 4, 10} {
		_, err := readFrames(frame(20)[:n])
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, n)
	}
	_, err := readFrames(nil)
	require.NoError(t, err)
}

// Reading allocates nothing, whatever lengths are sent.
func TestFrames_Read_allocatesNothing(t *testing.T) {
	data := bytes.Repeat(frame(1000), 100)
	source := bytes.NewReader(data)
	f := newFrames(stream{Reader: source}, "peer:1")
	buffer := make([]byte, 512)
	require.Zero(t, testing.AllocsPerRun(50, func() {
		source.Reset(data)
		for n := 0; n < len(data); {
			read, err := f.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			n += read
		}
	}))
}

// What the reader gets are the bytes of the peer up to the first length out of
// bounds, in whatever pieces they come and are asked for.
func FuzzFrames(f *testing.F) {
	f.Add(frame(4), uint8(8))
	f.Add(append(frame(9), frame(70)...), uint8(3))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), uint8(8))
	f.Add([]byte{0, 0, 0, 0}, uint8(8))
	f.Add(append(frame(4), 0xff, 0xff, 0xff, 0xff, 1), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		good := 0
		for {
			if len(data)-good < 4 {
				break
			}
			length := int64(binary.BigEndian.Uint32(data[good:]))
			if length < minFrame || length > maxFrame || (good == 0 && length > maxFirstFrame) {
				break
			}
			good += 4 + int(min(length, int64(len(data)-good-4)))
		}
		for name, reader := range map[string]io.Reader{
			"whole": bytes.NewReader(data), "byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
		} {
			frames := newFrames(stream{Reader: reader}, "peer:1")
			var got []byte
			buffer := make([]byte, int(size)+1)
			for {
				n, err := frames.Read(buffer)
				got = append(got, buffer[:n]...)
				if err == nil {
					continue
				}
				var refused *frameError
				switch {
				case errors.As(err, &refused):
					require.NotEmpty(t, err.Error())
				case err != io.EOF && err != io.ErrUnexpectedEOF:
					t.Fatalf("%s: %v", name, err)
				}
				break
			}
			require.Equal(t, string(data[:good]), string(got), name)
		}
	})
}
