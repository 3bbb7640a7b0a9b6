package page

// ReadTrial reads the request of the workbench.
func ReadTrial(data []byte) (string, error) {
	request, err := readTrial(data)
	return request.Mapping, err
}
