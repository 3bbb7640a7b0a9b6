import it.unibz.inf.ontop.injection.OntopSQLOWLAPIConfiguration;
import it.unibz.inf.ontop.rdf4j.materialization.RDF4JMaterializer;
import it.unibz.inf.ontop.materialization.MaterializationParams;
import java.io.*;
import org.eclipse.rdf4j.rio.ntriples.NTriplesWriter;

/** Materializes an R2RML mapping over PostgreSQL, as the command "ontop materialize" does. */
public class Ontop {
  public static void main(String[] args) throws Exception {
    OntopSQLOWLAPIConfiguration configuration = OntopSQLOWLAPIConfiguration.defaultBuilder()
        .r2rmlMappingFile(args[0]).jdbcUrl(args[1]).jdbcUser(args[2]).jdbcPassword(args[3])
        .jdbcDriver("org.postgresql.Driver").build();
    MaterializationParams params = MaterializationParams.defaultBuilder().build();
    try (Writer out = new BufferedWriter(new FileWriter(args[4]), 1 << 20)) {
      RDF4JMaterializer.defaultMaterializer(configuration, params).materialize().evaluate(new NTriplesWriter(out));
    }
  }
}
