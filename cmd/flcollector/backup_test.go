package main

import (
	"testing"

	"github.com/iotenablers/enablers/cmd/internal/backup/backuptest"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

func TestRun_isBackedUpBesideItself(t *testing.T) {
	backuptest.Command(t, datafolder.FLCollector, func(dir string) (stop func() error) { return start(t, "-data", dir).Stop })
}

func TestRun_hasNothingToBackUpWithoutAFolder(t *testing.T) {
	backuptest.None(t, func(dir string) (stop func() error) { return start(t, "-data", dir, "-store", "memory:").Stop })
}
