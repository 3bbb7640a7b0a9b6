package supernode_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/supernode"
)

func TestServer_Serve_endsAConnectionWhoseFramingIsAmbiguous(t *testing.T) {
	w := start(t, supernode.Config{})
	const head = "POST /v1/fleet/register-node HTTP/1.1\r\nHost: a\r\n"
	for text, ends := range map[string]bool{
		head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                                 true,
		head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                                                      true,
		"POST /v1/fleet/register-node HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\nHost: a\r\n\r\n": true,
		head + "Content-Length: 0\r\n\r\n":                                                                        false,
	} {
		conn, err := net.Dial("tcp", w.address)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(limit)))
		_, err = io.WriteString(conn, text)
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, text)
		require.Equal(t, ends, answer.Close, text)
		require.NoError(t, conn.Close())
	}
}
