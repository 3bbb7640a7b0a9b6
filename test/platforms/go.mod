module github.com/iotenablers/enablers/test/platforms

go 1.26.4

require golang.org/x/tools v0.52.0

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
