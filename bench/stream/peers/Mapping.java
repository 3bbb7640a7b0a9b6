import io.carml.engine.rdf.RdfRmlMapper;
import io.carml.logicalsourceresolver.JsonPathResolver;
import io.carml.util.RmlMappingLoader;
import io.carml.vocab.Rdf;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.rio.helpers.NTriplesUtil;

/** A CARML mapper, built once, that writes N-Triples as statements come. For one thread. */
final class Mapping {
  private final RdfRmlMapper mapper;
  private final StringBuilder out = new StringBuilder(8192);

  Mapping(String file) {
    mapper = RdfRmlMapper.builder()
        .triplesMaps(RmlMappingLoader.build().load(RDFFormat.TURTLE, Path.of(file)))
        .setLogicalSourceResolver(Rdf.Ql.JsonPath, JsonPathResolver::getInstance)
        .build();
  }

  byte[] map(byte[] message) {
    out.setLength(0);
    mapper.map(new ByteArrayInputStream(message)).doOnNext(this::write).blockLast();
    return out.toString().getBytes(StandardCharsets.UTF_8);
  }

  private void write(Statement s) {
    try {
      NTriplesUtil.append(s.getSubject(), out);
      out.append(' ');
      NTriplesUtil.append(s.getPredicate(), out);
      out.append(' ');
      NTriplesUtil.append(s.getObject(), out);
      out.append(" .\n");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
