package flower_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// cable is a connection to another collector, for its repository, that can be cut.
func cable(t *testing.T, to *collector) *mqtttest.Proxy {
	t.Helper()
	host, text, err := net.SplitHostPort(strings.TrimPrefix(to.url, "http://"))
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	return mqtttest.NewProxy(t, mqtttest.Address{Host: host, Port: port})
}

func TestAResultArrivesOnceTheRepositoryIsBack(t *testing.T) {
	python := install(t, newest)
	repository := startCollector(t, setup{})
	way := cable(t, repository)
	data := t.TempDir()
	with := setup{data: data, repository: "http://" + way.String()}
	c := startCollector(t, with)
	c.start("waiting", training("FedMedian", 2, 3, nil))
	waits := newGate(t)
	for number := range 3 {
		startClient(t, python, options{Server: c.clients, Number: number, Gate: string(waits)})
	}
	c.await("waiting", "training", func(s state) bool { return s.Status == "TRAINING" })
	way.Cut()
	waits.open(t, 2)
	s := c.await("waiting", "finished with a result that cannot be stored", func(s state) bool { return s.Status == "FINISHED" && s.Error != "" })
	require.False(t, s.Stored)
	require.Empty(t, repository.results("adder", "1"))

	c.Kill() // that must not lose it either
	c = startCollector(t, with)
	c.await("waiting", "finished with a result that cannot be stored", func(s state) bool { return s.Status == "FINISHED" && s.Error != "" })
	way.Restore()
	s = c.awaitResult("waiting")
	require.Empty(t, s.Error)
	require.Len(t, repository.results("adder", "1"), 1)
	requireAdded(t, load(t, python, repository.weights("adder", "1", "waiting"))[0], 4)
}

func TestATrainingBeginsOnceTheRepositoryIsThere(t *testing.T) {
	python := install(t, oldest)
	repository := startCollector(t, setup{})
	way := cable(t, repository)
	way.Cut()
	c := startCollector(t, setup{repository: "http://" + way.String()})
	c.start("early", training("avg", 1, 2, nil))
	for number := range 2 {
		startClient(t, python, options{Server: c.clients, Number: number})
	}
	c.await("early", "waiting with its clients", func(s state) bool { return s.Clients == 2 && s.Status == "WAITING" })
	way.Restore()
	c.awaitResult("early")
	require.Len(t, repository.results("adder", "1"), 1)
}
