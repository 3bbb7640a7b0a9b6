package s3test_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/s3/s3test"
)

func TestStart_answersAgainAfterAKill(t *testing.T) {
	server := s3test.StartMinIO(t)
	ready := func() error {
		answer, err := http.Get("http://" + server.Address() + "/")
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
	require.NoError(t, ready())
	server.Kill()
	require.Error(t, ready())
	server.Kill() // does nothing
	server.Restart()
	require.NoError(t, ready())
}
