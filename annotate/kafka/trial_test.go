package kafka_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
)

func TestDriver_trialHasAGroupOfItsOwn(t *testing.T) {
	driver := kafka.Driver(nil, nil).Settings.(annotate.TrialDriver)
	of := kafka.Settings{Host: "h", Port: 1, GroupID: "group-of-a-channel", User: "u", Password: "p"}
	topic := annotate.Topic{Name: "t", Broker: kafka.Type, Settings: of}
	tried := driver.Trial(topic, annotate.InputTopic).Settings.(kafka.Settings)
	require.NotEmpty(t, tried.GroupID)
	require.NotEqual(t, of.GroupID, tried.GroupID)
	tried.GroupID = of.GroupID
	require.Equal(t, of, tried, "the rest stays")
	require.Equal(t, of, topic.Settings)
}

func TestDriver_fieldsAreMembersOfTheSettings(t *testing.T) {
	driver := kafka.Driver(nil, nil).Settings
	for _, field := range driver.(annotate.FormDriver).Fields(annotate.InputTopic) {
		for _, choice := range field.Choices {
			text, err := json.Marshal(map[string]any{"host": "h", "port": 1, field.Member: choice})
			require.NoError(t, err)
			read, err := driver.Read(text)
			require.NoError(t, err, string(text))
			again, err := json.Marshal(read)
			require.NoError(t, err)
			require.JSONEq(t, string(text), string(again))
		}
	}
}
