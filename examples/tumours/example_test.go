package tumours_test

import (
	"fmt"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
)

// What each party learns alone does worse on the tumours of the others.
func ExampleParties() {
	parties, err := tumours.Parties()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range parties {
		var alone tumours.Regression
		alone.Descend(p.Train, tumours.DefaultLearningRate, 100)
		fmt.Printf("%s: %d tumours,", p.Name, len(p.Train)+len(p.Test))
		for _, other := range parties {
			_, accuracy := alone.Measure(other.Test)
			fmt.Printf(" %.3f", accuracy)
		}
		fmt.Println()
	}
	// Output:
	// screening: 312 tumours, 1.000 1.000 0.920
	// clinic: 57 tumours, 0.910 0.929 0.960
	// oncology: 200 tumours, 0.897 0.857 0.980
}

func ExampleNewTrainer() {
	parties, err := tumours.Parties()
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := flower.NewClient(flower.ClientConfig{
		Target:  "127.0.0.1:8088", // where the collector listens for clients
		Trainer: tumours.NewTrainer(parties[0]),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = client.Run // which takes part until the training has ended
	// Output:
}
