package tour

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/modelrepo"
)

// The model that [Models] uploads.
const (
	Namespace = "demo"
	Model     = "weather-forecast"
)

// KeptVersions is how many versions of the model there are at most.
const KeptVersions = 5

// Models uploads a version of the model in each interval, and removes the oldest ones, until
// ctx ends.
func Models(ctx context.Context, store *modelrepo.Store, every time.Duration) error {
	if err := makeModel(ctx, store); err != nil {
		return ended(ctx, err)
	}
	for {
		if err := uploadVersion(ctx, store); err != nil {
			return ended(ctx, err)
		}
		if !wait(ctx, every) {
			return nil
		}
	}
}

func makeModel(ctx context.Context, store *modelrepo.Store) error {
	err := store.CreateNamespace(ctx, Namespace, modelrepo.NamespaceUpdate{
		Metadata: modelrepo.Metadata{"description": {"What the demonstration uploads"}},
	})
	if err != nil && !errors.Is(err, modelrepo.ErrExists) {
		return err
	}
	err = store.CreateModel(ctx, modelrepo.Path{Namespace: Namespace, Model: Model}, modelrepo.ModelUpdate{
		Metadata: modelrepo.Metadata{"description": {"Coefficients of a forecast; a new version now and then"}},
	})
	if err != nil && !errors.Is(err, modelrepo.ErrExists) {
		return err
	}
	return nil
}

// uploadVersion uploads the version with the next number, makes it the latest, and removes
// those that are too old.
func uploadVersion(ctx context.Context, store *modelrepo.Store) error {
	at := modelrepo.Path{Namespace: Namespace, Model: Model}
	model, err := store.Model(ctx, at, nil)
	if err != nil {
		return err
	}
	numbers := listVersions(model)
	next := 1
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	version := at
	version.Version = tag(next)
	if err := store.CreateVersion(ctx, version, modelrepo.VersionUpdate{DefaultFormat: "csv"}); err != nil {
		return err
	}
	if _, err := store.Upload(ctx, version, "csv", strings.NewReader(coefficients()), nil); err != nil {
		return err
	}
	if _, err := store.UpdateModel(ctx, at, modelrepo.ModelUpdate{LatestVersion: version.Version}); err != nil {
		return err
	}
	numbers = append(numbers, next)
	for _, old := range numbers[:max(0, len(numbers)-KeptVersions)] {
		gone := at
		gone.Version = tag(old)
		if err := store.DeleteContent(ctx, gone, "csv", modelrepo.Condition{}); err != nil && !errors.Is(err, modelrepo.ErrNotFound) {
			return err
		}
		if err := store.DeleteVersion(ctx, gone); err != nil && !errors.Is(err, modelrepo.ErrNotFound) {
			return err
		}
	}
	return nil
}

// listVersions returns the numbers of the versions that are ours, the lowest first. A person may
// have added others.
func listVersions(model modelrepo.Model) []int {
	var numbers []int
	if model.Versions == nil {
		return nil
	}
	for _, version := range model.Versions.Items {
		n, err := strconv.Atoi(strings.TrimPrefix(version.Version, "1."))
		if err == nil && version.Version == tag(n) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

func tag(n int) string { return fmt.Sprintf("1.%d", n) }

// coefficients returns a small table that is new each time.
func coefficients() string {
	var text strings.Builder
	text.WriteString("hour,temperature,pressure\n")
	for hour := range 24 {
		fmt.Fprintf(&text, "%d,%.4f,%.4f\n", hour, rand.NormFloat64(), rand.NormFloat64())
	}
	return text.String()
}
