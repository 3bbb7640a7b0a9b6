package notify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/notify"
)

func TestSend_keepsOneNotification(t *testing.T) {
	channel := make(chan struct{}, 1)
	notify.Send(channel)
	notify.Send(channel) // does not block
	require.Len(t, channel, 1)
	<-channel
	notify.Send(channel)
	require.Len(t, channel, 1)
	notify.Send(nil)
}
