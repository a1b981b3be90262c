package catalog

// ParseFile reads one entry file.
func ParseFile(content []byte) error {
	_, err := readModels(source{name: "fuzz.yaml", content: content}, Options{})
	return err
}
