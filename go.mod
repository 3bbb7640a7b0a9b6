module github.com/iotenablers/enablers

go 1.26.0
