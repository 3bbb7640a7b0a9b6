package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

const largestModel = 2 << 30 // bytes of the parameters in a file

// initial is a flcollect.Config.InitialNamed: it reads the parameters of a model
// from the folder of models, if there are any.
func (c *Collector) initial(_ context.Context, job jobconfig.Config) (strategy.Model, []string, error) {
	if c.Models == "" {
		return nil, nil, flcollect.ErrNoModel
	}
	model, layers, err := readModel(c.Models, url.PathEscape(job.ModelName)+"/"+url.PathEscape(job.ModelVersion)+".npz")
	if errors.Is(err, fs.ErrNotExist) {
		err = flcollect.ErrNoModel
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read model %q of version %q in %q: %w", job.ModelName, job.ModelVersion, c.Models, err)
	}
	return model, layers, nil
}

// readModel reads an archive of arrays below the folder, with the names of its layers.
func readModel(dir, name string) (strategy.Model, []string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }() // it was only read from
	file, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }() // likewise
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	arrays, err := tensor.ReadNPZ(file, info.Size(), largestModel)
	if errors.Is(err, tensor.ErrArchive) || errors.Is(err, tensor.ErrFormat) || errors.Is(err, tensor.ErrLimit) {
		return nil, nil, fmt.Errorf("%w: %w", flcollect.ErrRefused, err) // it is not tried again
	}
	if err != nil {
		return nil, nil, err
	}
	model := make(strategy.Model, len(arrays))
	for i, array := range arrays {
		model[i] = array.Tensor
	}
	return model, repository.Layers(arrays), nil
}
