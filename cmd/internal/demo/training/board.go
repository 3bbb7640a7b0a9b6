package training

import (
	"fmt"
	"io"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
)

// board prints the progress of the training.
type board struct {
	to     io.Writer
	job    string
	shown  int    // the last round that was written
	fault  string // what was written of it
	last   flcollect.Status
	newest report.Round // the round that was written last
}

// begin prints the clients and the accuracy that each reaches alone, with the same
// amount of training and on the test data of all.
func (b *board) begin(site string, parties []tumours.Party, steps int) {
	var test []tumours.Tumour
	for _, p := range parties {
		test = append(test, p.Test...)
	}
	fmt.Fprintf(b.to, "\njob %s: tell malignant tumours from benign ones; to be seen at %s/live/%[1]s\n", b.job, site)
	for _, p := range parties {
		var alone tumours.Regression
		alone.Descend(p.Train, tumours.DefaultLearningRate, steps)
		_, accuracy := alone.Measure(test)
		fmt.Fprintf(b.to, "%-9s has %3d tumours; alone it would reach an accuracy of %.3f\n", p.Name, len(p.Train)+len(p.Test), accuracy)
	}
}

// round prints a round and the number of all rounds.
func (b *board) round(r report.Round, of int) {
	line := fmt.Sprintf("round %2d of %d%s   clients %d   %.3f s", r.Number, of, measures(r, "   "), r.Fit.Results,
		r.Ended.Sub(r.Started).Seconds())
	if r.Note != "" {
		line += "   " + r.Note
	}
	fmt.Fprintln(b.to, line)
	b.shown, b.newest = r.Number, r
}

// measures are the loss and the accuracy of a round, each behind a separator.
func measures(r report.Round, separator string) string {
	var text string
	if r.Loss != nil {
		text += fmt.Sprintf("%sloss %.4f", separator, *r.Loss)
	}
	if accuracy, ok := r.Metrics["accuracy"]; ok {
		text += fmt.Sprintf("%saccuracy %.3f", separator, accuracy)
	}
	return text
}

// status prints the fault of a job, once.
func (b *board) status(s flcollect.Status) {
	b.last = s
	if s.Error != "" && s.Error != b.fault {
		fmt.Fprintln(b.to, s.Error)
	}
	b.fault = s.Error
}

// end prints the outcome and where the result is stored.
func (b *board) end(repository string) {
	if b.last.State != report.Finished {
		fmt.Fprintf(b.to, "training interrupted after %d rounds\n", max(b.last.Round, 0))
		return
	}
	fmt.Fprintf(b.to, "training finished: %d rounds%s\n", b.last.Round, measures(b.newest, ", "))
	fmt.Fprintf(b.to, "result in the repository: %s/training-results/%s/%s\n", repository, ModelName, ModelVersion)
}
