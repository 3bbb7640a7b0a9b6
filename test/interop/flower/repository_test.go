package flower_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCollector_result_arrivesWhenTheRepositoryIsBack(t *testing.T) {
	python := install(t, newest)
	repository := startCollector(t, setup{})
	way := startRelay(t)
	way.lead(repository.url)
	with := setup{data: t.TempDir(), repository: "http://" + way.address}
	c := startCollector(t, with)
	c.start("waiting", training("FedMedian", 2, 3, nil))
	waits := newGate(t)
	for number := range 3 {
		startClient(t, python, options{Server: c.clients, Number: number, Gate: string(waits)})
	}
	c.await("waiting", "training", func(s state) bool { return s.Status == "TRAINING" })
	way.cut()
	waits.open(t, 2)
	s := c.await("waiting", "finished with a result that cannot be stored",
		func(s state) bool { return s.Status == "FINISHED" && s.Error != "" })
	require.False(t, s.Stored)
	require.Empty(t, repository.results("adder", "1"))

	c.Kill() // that must not lose it either
	c = startCollector(t, with)
	c.await("waiting", "finished with a result that cannot be stored",
		func(s state) bool { return s.Status == "FINISHED" && s.Error != "" })
	way.lead(repository.url)
	s = c.awaitResult("waiting")
	require.Empty(t, s.Error)
	require.Len(t, repository.results("adder", "1"), 1)
	requireAdded(t, load(t, python, repository.weights("adder", "1", "waiting"))[0], 4)
}

func TestCollector_training_beginsWhenTheRepositoryIsThere(t *testing.T) {
	python := install(t, oldest)
	repository := startCollector(t, setup{})
	way := startRelay(t)
	way.cut()
	c := startCollector(t, setup{repository: "http://" + way.address})
	c.start("early", training("avg", 1, 2, nil))
	for number := range 2 {
		startClient(t, python, options{Server: c.clients, Number: number})
	}
	c.await("early", "waiting with its clients", func(s state) bool { return s.Clients == 2 && s.Status == "WAITING" })
	way.lead(repository.url)
	c.awaitResult("early")
	require.Len(t, repository.results("adder", "1"), 1)
}

func TestCollector_strategyOfTheRepository_isUsedByItsName(t *testing.T) {
	python := install(t, oldest)
	c := startCollector(t, setup{})
	body := `{"strategy_name":"the middle","strategy_description":"of a test","meta":{"class":"FedMedian"}}`
	code, answer, err := ask(http.MethodPost, c.url+"/strategy", strings.NewReader(body), "application/json")
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, code, string(answer))
	c.start("named", training("the middle", 2, 3, nil))
	for _, number := range []int{0, 1, 8} {
		startClient(t, python, options{Server: c.clients, Number: number})
	}
	c.awaitResult("named")
	requireAdded(t, load(t, python, c.weights("adder", "1", "named"))[0], 2+2)
}
