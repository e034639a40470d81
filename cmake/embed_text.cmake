# cmake -D OUTPUT=page.cpp -D FOLDER=share/report -P embed_text.cmake: the files of the report's page as string constants.
set(text "// Made by cmake/embed_text.cmake.\n#include \"report/page.h\"\n\nnamespace heddle {\n\n")
foreach(name html css js)
  file(READ ${FOLDER}/report.${name} content)
  # Compilers allow literals of 64 KiB; pieces follow each other.
  string(APPEND text "const std::string_view kPage_${name} = R\"heddle(${content})heddle\";\n\n")
endforeach()
string(APPEND text "}  // namespace heddle\n")
file(WRITE ${OUTPUT} "${text}")
