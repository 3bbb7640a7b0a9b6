package main

func Example() {
	main()
	// Output:
	// <http://example.com/station/7> <http://example.com/name> "Newark" .
	// <http://example.com/station/7> <http://example.com/fahrenheit> "39.02"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// <http://example.com/station/9> <http://example.com/fahrenheit> "-1.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// refused: apply <http://example.com/functions#hundredths>: wasm: function failed: "warm" is not a whole number
}
