package pickle_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/pickle"
)

// A strategy of a repository that Python programs have filled becomes the
// built-in one with the same parameters. A pickle that would run something is
// refused.
func ExampleRead() {
	file, err := os.ReadFile("testdata/flower-1.3.0.json")
	if err != nil {
		log.Fatal(err)
	}
	var known struct {
		Cases, Others []struct{ Pickle []byte }
	}
	if err := json.Unmarshal(file, &known); err != nil {
		log.Fatal(err)
	}
	stored, err := pickle.Read(known.Cases[5+4].Pickle)
	if err != nil {
		log.Fatal(err)
	}
	made, err := stored.Strategy(strategy.Conf{"min_evaluate_clients": 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stored.Class, made.Policy().Fit.MinClients, made.Policy().Evaluate.MinClients)
	_, err = pickle.Read(known.Others[6].Pickle)
	fmt.Println(err)
	// Output:
	// flwr.server.strategy.fedavg.FedAvg 3 10
	// pickle: refused: it is what posix.system makes, and no strategy of Flower that is built in here
}
