package kong

// OldPath and NewPath are oldPath and newPath, for the fuzz test.
var (
	OldPath = oldPath
	NewPath = newPath
)
